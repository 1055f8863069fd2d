import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { notFound } from '../../lib/errors.ts'
import type { IsAllowed } from './client-ip.ts'
import { pathOf } from './request-url.ts'

const CONSOLE = /^\/console(\/|$)/

/** Answers 404 for the console outside of the allowed networks, before anything else is checked. */
export function consoleNetworks({ isAllowed }: { isAllowed: IsAllowed }) {
  return new Elysia({ name: 'console-networks' }).onRequest(({ request, server }) => {
    if (!CONSOLE.test(pathOf(request))) return
    if (!isAllowed(request, server as Server<unknown> | null)) throw notFound()
  })
}
