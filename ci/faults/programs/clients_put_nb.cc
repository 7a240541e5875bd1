#include "clients_put_nb.c"
