import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { notFound } from '../../lib/errors.ts'
import type { RequestCheck } from './client-ip.ts'
import { pathOf } from './request-url.ts'

const CONSOLE = /^\/console(\/|$)/

export function isConsolePath(path: string): boolean {
  return CONSOLE.test(path)
}

/** Answers console requests from outside the allowed networks with 404, before any other check. */
export function consoleNetworks({ isAllowed }: { isAllowed: RequestCheck }) {
  return new Elysia({ name: 'console-networks' }).onRequest(({ request, server }) => {
    if (!isConsolePath(pathOf(request))) return
    if (!isAllowed(request, server as Server<unknown> | null)) throw notFound()
  })
}
