import { isNetwork, list, oneOf, wholeNumber } from './setting-values.ts'
import type { SettingsReader } from './settings-reader.ts'

/** The variables of the operator's console. */
export function readConsoleSettings(read: SettingsReader) {
  return {
    console: read('CONSOLE', 'on', 'on or off', (text) => oneOf(['on', 'off'], text)) === 'on',
    /** Who may see it; everybody where there are none. */
    consoleNetworks: read<string[]>(
      'CONSOLE_NETWORKS',
      [],
      'addresses or networks, with commas',
      (text) => list(text, isNetwork),
    ),
    /** A port of its own, off the public one; null for the same. */
    consolePort: read<number | null>('CONSOLE_PORT', null, 'a port from 1 to 65535', (text) =>
      wholeNumber(text, 65_535),
    ),
    /** The header in which a proxy says the country of the caller; null where none does. */
    countryHeader: read<string | null>(
      'COUNTRY_HEADER',
      null,
      'the name of a header such as CF-IPCountry',
      (text) => (/^[\w-]{1,64}$/.test(text) ? text : undefined),
    ),
    auditKeepDays: read('AUDIT_KEEP_DAYS', 365, 'a number of days from 1 to 36500', (text) => {
      const days = wholeNumber(text, 36_500)
      return days === 0 ? undefined : days
    }),
  }
}
