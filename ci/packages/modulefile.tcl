#%Module1.0
## oxshmem @VERSION@, for Environment Modules and Lmod. It finds the installation by its own place.

set prefix [file normalize [file join [file dirname [file normalize $ModulesCurrentModulefile]] .. .. .. ..]]

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
