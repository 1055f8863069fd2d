import { computed, signal } from '@preact/signals'
import type { Operators } from '../features/operators/operators.ts'
import type { Role } from '../lib/roles.ts'
import type { ReplyOf } from './api.ts'
import { readPreferences } from './format.ts'

export type Me = {
  name: string
  role: Role
  provenAt: string
  session: string
  sessions: ReplyOf<Operators['sessions']['list']>
  passkeys: ReplyOf<Operators['passkeys']['list']>
}

/** `environment`: derived from the server's URL. */
export type Identity = { appName: string; environment: 'Production' | 'Test' | 'Local' }

export const identity = signal<Identity>({ appName: 'homeport', environment: 'Production' })

/** Without APP_NAME, the server sends the default audience of its tokens. */
export const appTitle = computed(() => {
  const { appName } = identity.value
  return appName === 'homeport' ? 'Homeport' : appName
})

/** Formats are created once, so a new time zone reloads the page. */
export function savePreference(name: 'theme' | 'zone', value: string) {
  localStorage.setItem(`homeport-${name}`, value)
  if (name === 'theme') applyTheme()
  else location.reload()
}

export function applyTheme() {
  document.documentElement.dataset['theme'] = readPreferences().theme
}

export const me = signal<Me | null>(null)

/** The server enforces this too. */
export const canEdit = computed(() => me.value !== null && me.value.role !== 'reader')
