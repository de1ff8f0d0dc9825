/* The locale "C" for this thread alone: numbers have a decimal point, whatever the process has set. */
#ifndef DG_C_LOCALE_H
#define DG_C_LOCALE_H

#include <locale.h>

/* Returns the locale of before, for uselocale(). Without memory for a locale nothing changes. */
locale_t dg_use_c_locale(void);

#endif
