#include "clients_header.c"
