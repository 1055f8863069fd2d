import { signal } from '@preact/signals'

/** The token of the invitation link that this tab has opened; null for none. */
export const setupToken = signal(takeToken('setup'))

/** Follows links that are opened in a tab that already shows the console. */
export function watchSetupLinks() {
  addEventListener('hashchange', () => {
    if (location.hash.startsWith('#demo=')) location.reload()
    setupToken.value = takeToken('setup') ?? setupToken.value
  })
}

/** Returns a link's token once, because it removes it from the URL. Servers never see the part after #. */
export function takeToken(name: 'setup' | 'demo'): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get(name)
  if (token) history.replaceState(null, '', location.pathname + location.search)
  return token
}
