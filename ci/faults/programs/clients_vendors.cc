#include "clients_vendors.c"
