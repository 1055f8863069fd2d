import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { notFound } from '../../lib/errors.ts'
import type { RequestCheck } from './client-address.ts'
import { pathOf } from './request-url.ts'

const CONSOLE = /^\/console(\/|$)/

/** Searching the URL first is faster than extracting its path, and most requests are for others. */
export function isForConsole(request: Request): boolean {
  return request.url.includes('/console') && CONSOLE.test(pathOf(request))
}

/** Answers console requests from outside the allowed networks with 404, before any other check. */
export function consoleNetworks({ isAllowed }: { isAllowed: RequestCheck }) {
  return new Elysia({ name: 'console-networks' }).onRequest(({ request, server }) => {
    if (!isForConsole(request)) return
    if (!isAllowed(request, server as Server<unknown> | null)) throw notFound()
  })
}
