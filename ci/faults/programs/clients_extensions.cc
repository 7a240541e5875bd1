#include "clients_extensions.c"
