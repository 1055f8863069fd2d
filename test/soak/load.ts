import type { Asking } from './asking.ts'
import type { Billing } from './billing.ts'
import type { Files } from './files.ts'
import type { People, Person } from './people.ts'

export type Load = Awaited<ReturnType<typeof startLoad>>

type Act = { kind: string; share: number; run: (person: Person) => Promise<unknown> }

/** More concurrent actions would only wait. */
const AT_ONCE = 150
const SETTINGS = '/api/user/app_settings/v1'

/**
 * Starts `rate` actions per second at fixed times, whatever happened to earlier ones. Each user does one
 * thing at a time. Times, in ms, count from when an action was due until it was done, including retries.
 */
export async function startLoad(
  parts: { asking: Asking; people: People; billing: Billing; files: Files },
  { rate, people: count }: { rate: number; people: number },
) {
  const { asking, people, billing, files } = parts
  const { wrong } = asking
  const acts: Act[] = [
    { kind: 'settings', share: 26, run: readSettings },
    { kind: 'profile', share: 12, run: people.readProfile },
    { kind: 'subscription', share: 12, run: billing.readSubscription },
    { kind: 'event', share: 20, run: whenProviderIsUp(billing.deliver) },
    { kind: 'events out of order', share: 3, run: whenProviderIsUp(billing.deliverSwapped) },
    { kind: 'duplicate event', share: 2, run: whenProviderIsUp(billing.repeat) },
    { kind: 'renaming', share: 8, run: people.rename },
    { kind: 'refresh', share: 5, run: people.refresh },
    { kind: 'sign-in', share: 2, run: people.signIn },
    { kind: 'registration', share: 0.7, run: people.register },
    { kind: 'register and delete', share: 0.3, run: comeAndGo },
    { kind: 'log', share: 2, run: files.uploadLog },
    { kind: 'picture', share: 1.2, run: files.uploadPicture },
    { kind: 'file', share: 3, run: files.read },
    { kind: 'file deleted', share: 2.8, run: files.remove },
  ]
  const all = acts.reduce((sum, { share }) => sum + share, 0)
  const times = new Map<string, number[]>(acts.map(({ kind }) => [kind, []]))
  const seen = { done: 0, skipped: 0 }
  let settingsTag = ''
  const idle: Person[] = []
  while (idle.length < count) {
    const person = await people.register()
    if (!person) throw new Error(`no user can register: ${wrong[0]}`)
    idle.push(person)
  }
  const everybody = [...idle]
  const running = new Set<Promise<void>>()
  const startedAt = performance.now()
  let due = 0
  const timer = setInterval(startDue, 5)
  return { everybody, times, seen, stop }

  /** Resolves once all started actions are done. */
  async function stop() {
    clearInterval(timer)
    await Promise.all(running)
  }

  function startDue() {
    for (; (due / rate) * 1_000 <= performance.now() - startedAt; due++) {
      const person = running.size < AT_ONCE ? takeAny() : undefined
      if (person) start(pick(), person, startedAt + (due / rate) * 1_000)
      else seen.skipped++
    }
  }

  function start({ kind, run }: Act, person: Person, dueAt: number) {
    const doing = run(person)
      .catch((error) => wrong.push(`${kind}: ${error}`))
      .then(() => {
        times.get(kind)?.push(performance.now() - dueAt)
        seen.done++
        idle.push(person)
        running.delete(doing)
      })
    running.add(doing)
  }

  function takeAny(): Person | undefined {
    const at = Math.floor(Math.random() * idle.length)
    const person = idle[at]
    const last = idle.pop()
    if (last && at < idle.length) idle[at] = last
    return person
  }

  function pick(): Act {
    let left = Math.random() * all
    for (const act of acts) {
      left -= act.share
      if (left < 0) return act
    }
    return acts[0] as Act
  }

  async function readSettings() {
    const headers = { 'if-none-match': settingsTag }
    const reply = await asking.persist({ method: 'GET', path: SETTINGS, headers })
    if (reply.status === 304) return
    if (people.succeeded(reply, 'the settings')) settingsTag = reply.tag
  }

  async function comeAndGo() {
    const guest = await people.register()
    if (!guest) return
    await files.uploadLog(guest)
    await people.leave(guest)
  }

  function whenProviderIsUp(run: (person: Person) => Promise<unknown>) {
    return async (person: Person) => {
      await billing.untilUp()
      await run(person)
    }
  }
}
