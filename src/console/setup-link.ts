import { signal } from '@preact/signals'

/** The token of the invitation link that this tab has opened; null for none. */
export const setupToken = signal(takeToken())

/** Follows links that are opened in a tab where the console is loaded already. */
export function watchSetupLinks() {
  addEventListener('hashchange', () => {
    setupToken.value = takeToken() ?? setupToken.value
  })
}

/** Removes it from the address. Servers never see the part after #. */
function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('setup')
  if (token) history.replaceState(null, '', location.pathname + location.search)
  return token
}
