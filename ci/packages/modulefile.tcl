#%Module1.0
## oxshmem @VERSION@, for Environment Modules and Lmod. It finds the installation by its own place.

# `file normalize` follows links of folders alone, and packages have a link to this file: so it is asked for something below the file.
set own [file dirname [file normalize [file join $ModulesCurrentModulefile below]]]
set prefix [file normalize [file join [file dirname $own] .. .. .. ..]]

proc ModulesHelp { } {
    puts stderr "OpenSHMEM 1.6: oshcc, oshc++ and oshfort compile programs, oshrun starts them."
}
module-whatis "oxshmem @VERSION@: OpenSHMEM 1.6"
# Tools of other OpenSHMEM libraries have the same names.
conflict openmpi sandia-openshmem osss-ucx

setenv          OXSHMEM_ROOT    $prefix
prepend-path    PATH            $prefix/bin
prepend-path    MANPATH         $prefix/share/man
prepend-path    PKG_CONFIG_PATH $prefix/@LIBDIR@/pkgconfig
prepend-path    CMAKE_PREFIX_PATH $prefix
prepend-path    LD_LIBRARY_PATH $prefix/@LIBDIR@
