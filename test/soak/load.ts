import type { AppServer } from './app-server.ts'
import type { Billing } from './billing.ts'
import type { Client } from './client.ts'
import type { ConsoleOperator } from './console-operator.ts'
import type { Files } from './files.ts'
import type { Streams } from './streams.ts'
import type { User, Users } from './users.ts'

export type Load = Awaited<ReturnType<typeof startLoad>>

type Parts = {
  client: Client
  users: Users
  billing: Billing
  files: Files
  appServer: AppServer
  streams: Streams
  consoleOperator: ConsoleOperator
}

type Action = { kind: string; share: number; run: (user: User) => Promise<unknown> }

/** More concurrent actions would only wait. */
const MAX_CONCURRENT = 150
const SETTINGS = '/api/user/app_settings/v1'

/**
 * Starts `rate` actions per second at fixed times, even if earlier ones are still running. Each user does one
 * thing at a time. Times, in ms, count from when an action was due until it was done, including retries.
 */
export async function startLoad(
  parts: Parts,
  { rate, users: count }: { rate: number; users: number },
) {
  const { client, users, billing, files, appServer, streams, consoleOperator } = parts
  const { problems } = client
  const actions: Action[] = [
    { kind: 'settings', share: 26, run: readSettings },
    { kind: 'profile', share: 12, run: users.readProfile },
    { kind: 'subscription', share: 12, run: billing.readSubscription },
    { kind: 'event', share: 20, run: whenProviderIsUp(billing.deliver) },
    { kind: 'events out of order', share: 3, run: whenProviderIsUp(billing.deliverSwapped) },
    { kind: 'duplicate event', share: 2, run: whenProviderIsUp(billing.repeat) },
    { kind: 'renaming', share: 8, run: users.rename },
    { kind: 'refresh', share: 5, run: users.refresh },
    { kind: 'sign-in', share: 2, run: users.signIn },
    { kind: 'registration', share: 0.7, run: users.register },
    { kind: 'register and delete', share: 0.3, run: registerAndDelete },
    { kind: 'log', share: 2, run: files.uploadLog },
    { kind: 'image', share: 1.2, run: files.uploadPicture },
    { kind: 'file', share: 3, run: files.read },
    { kind: 'file deleted', share: 2.8, run: files.remove },
    { kind: 'use of a limit', share: 5, run: appServer.use },
    { kind: 'usage', share: 2, run: appServer.readUsage },
    { kind: 'change received', share: 2, run: streams.renameAndWaitForEvent },
    { kind: 'console', share: 2, run: consoleOperator.readScreen },
  ]
  const totalShare = actions.reduce((sum, { share }) => sum + share, 0)
  const times = new Map<string, number[]>(actions.map(({ kind }) => [kind, []]))
  const stats = { done: 0, skipped: 0 }
  let settingsTag = ''
  const idle: User[] = []
  while (idle.length < count) {
    const user = await users.register()
    if (!user) throw new Error(`no user can register: ${problems[0]}`)
    idle.push(user)
  }
  const allUsers = [...idle]
  const running = new Set<Promise<void>>()
  const startedAt = performance.now()
  let due = 0
  const timer = setInterval(startDue, 5)
  return { allUsers, times, stats, stop }

  /** Resolves once all started actions are done. */
  async function stop() {
    clearInterval(timer)
    await Promise.all(running)
  }

  function startDue() {
    for (; (due / rate) * 1_000 <= performance.now() - startedAt; due++) {
      const user = running.size < MAX_CONCURRENT ? takeIdleUser() : undefined
      if (user) start(pick(), user, startedAt + (due / rate) * 1_000)
      else stats.skipped++
    }
  }

  function start({ kind, run }: Action, user: User, dueAt: number) {
    const execution = run(user)
      .catch((error) => problems.push(`${kind}: ${error}`))
      .then(() => {
        times.get(kind)?.push(performance.now() - dueAt)
        stats.done++
        idle.push(user)
        running.delete(execution)
      })
    running.add(execution)
  }

  function takeIdleUser(): User | undefined {
    const at = Math.floor(Math.random() * idle.length)
    const user = idle[at]
    const last = idle.pop()
    if (last && at < idle.length) idle[at] = last
    return user
  }

  function pick(): Action {
    let left = Math.random() * totalShare
    for (const action of actions) {
      left -= action.share
      if (left < 0) return action
    }
    return actions[0] as Action
  }

  async function readSettings() {
    const headers = { 'if-none-match': settingsTag }
    const reply = await client.askWithRetries({ method: 'GET', path: SETTINGS, headers })
    if (reply.status === 304) return
    if (users.succeeded(reply, 'the settings')) settingsTag = reply.tag
  }

  async function registerAndDelete() {
    const guest = await users.register()
    if (!guest) return
    await files.uploadLog(guest)
    await users.deleteAccount(guest)
  }

  function whenProviderIsUp(run: (user: User) => Promise<unknown>) {
    return async (user: User) => {
      await billing.waitUntilUp()
      await run(user)
    }
  }
}
