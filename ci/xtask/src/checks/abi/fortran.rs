//! The interface that a Fortran program sees: include files in both source forms, modules, and names under other options.

use std::path::Path;
use std::process::Command;

use super::{Bench, WARNINGS, source};
use crate::disk::write;
use crate::{Outcome, command};

impl Bench {
    pub(super) fn fortran(&mut self) {
        if !command::exists("gfortran") {
            self.skip("the Fortran interface", "gfortran is not installed");
            return;
        }
        for form in ["-ffixed-form", "-ffree-form"] {
            for standard in ["-std=legacy", "-std=f2008", "-std=f2018", "-std=gnu"] {
                let options = [form, standard, "-Wall", "-Werror", "-fsyntax-only"];
                let outcome = ["", "mpp/"]
                    .iter()
                    .try_for_each(|folder| self.compile("gfortran", &options, "include.f", &includes(folder)));
                self.record(&format!("Fortran include files with {form} {standard}"), outcome);
            }
        }
        let written = self.scratch.join("include.f");
        self.record("Fortran include files", write(&written, &includes("")));
        for (source, form) in [(written, "-ffixed-form"), (source("modules.f90"), "-ffree-form")] {
            for option in [form, "-fsecond-underscore"] {
                let outcome = self.fortran_program(&source, option);
                self.record(&format!("Fortran program {} with {option}", source.display()), outcome);
            }
        }
    }

    /// Compiles, links and runs on one PE.
    fn fortran_program(&self, source: &Path, option: &str) -> Outcome {
        let program = self.scratch.join("fortran");
        let library = self.prefix.join("lib");
        let mut compiler = Command::new("gfortran");
        compiler.args(&WARNINGS[..1]).args(["-Werror", option, "-I"]).arg(self.prefix.join("include"));
        compiler.arg("-o").arg(&program).arg(source).arg("-L").arg(&library).arg("-loxshmem");
        command::read(compiler.arg(format!("-Wl,-rpath,{}", library.display())))?;
        // One of the programs asks for more memory than this.
        command::read(Command::new(&program).env("SHMEM_SYMMETRIC_SIZE", "64M")).map(drop)
    }
}

/// A constant or function of each kind from the include files of a folder, in columns that both source forms take.
fn includes(folder: &str) -> String {
    include_str!("../../../../abi/include.f").replace("FOLDER/", folder)
}
