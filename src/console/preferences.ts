import { PREFERENCE_KEYS, readPreferences } from './format.ts'

/** Formats are made once, so another time zone loads the page again. */
export function savePreference(name: 'theme' | 'zone', value: string) {
  localStorage.setItem(PREFERENCE_KEYS[name], value)
  if (name === 'theme') applyTheme()
  else location.reload()
}

export function applyTheme() {
  document.documentElement.dataset['theme'] = readPreferences().theme
}
