/* The locale "C" for this thread, so that its numbers have a decimal point in any locale of the process. */
#ifndef DG_C_LOCALE_H
#define DG_C_LOCALE_H

#include <locale.h>

/* Returns the previous locale, for uselocale(). Changes nothing if there is no memory for a locale. */
locale_t dg_use_c_locale(void);

#endif
