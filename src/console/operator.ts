import { computed, signal } from '@preact/signals'
import type { Operators } from '../features/operators/operators.ts'
import type { Role } from '../lib/roles.ts'
import type { ReplyOf } from './api.ts'

export type Me = {
  name: string
  role: Role
  provenAt: string
  session: string
  sessions: ReplyOf<Operators['sessions']['list']>
  passkeys: ReplyOf<Operators['passkeys']['list']>
}

export const me = signal<Me | null>(null)

/** The server enforces this too. */
export const canEdit = computed(() => me.value !== null && me.value.role !== 'reader')
