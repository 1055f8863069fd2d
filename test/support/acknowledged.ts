import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PASSWORD } from './app.ts'
import type { Server } from './executable.ts'
import { deliver, postJson, uploadText } from './requests.ts'

/** The ids of writes that the server acknowledged, which must never be lost. */
export type Acknowledged = { events: string[]; emails: string[]; keys: string[] }

/**
 * Continuously delivers events, registers users and uploads files until stopped. `name` makes the
 * ids unique.
 */
export function startWrites(server: Server, token: string, name: string) {
  const acknowledged: Acknowledged = { events: [], emails: [], keys: [] }
  let isOver = false
  const writers = [...Array(6).fill(deliverEvents), registerUsers, ...Array(2).fill(uploadFiles)]
  const done = Promise.all(writers.map(repeat))
  return { acknowledged, stop, done }

  /** Writes acknowledged after this are not recorded. */
  function stop() {
    isOver = true
  }

  async function repeat(write: (id: string) => Promise<void>, writer: number) {
    for (let count = 0; !isOver; count++) await write(`${name}-${writer}-${count}`).catch(() => {})
  }

  async function deliverEvents(id: string) {
    const { status } = await deliver(server, id)
    if (status === 200 && !isOver) acknowledged.events.push(id)
  }

  async function registerUsers(id: string) {
    const email = `${id}@example.com`
    const { status } = await postJson(server, '/api/auth/register/v1', {
      email,
      password: PASSWORD,
    })
    if (status === 200 && !isOver) acknowledged.emails.push(email)
  }

  async function uploadFiles(id: string) {
    const url = await uploadText(server, token, id)
    const key = URL.parse(url)?.pathname.split('/').at(-1)
    if (key && !isOver) acknowledged.keys.push(key)
  }
}

/** Acknowledged records missing from a stopped server's data, and problems in its database. */
export function findLostRecords({ events, emails, keys }: Acknowledged, dataDir: string) {
  using client = new Database(join(dataDir, 'homeport.db'))
  // The process that writes a killed server's checkpoints may still be ending.
  client.run('PRAGMA busy_timeout = 5000')
  const columnSet = (sql: string) => new Set(client.query(sql).values().flat())
  const [eventIds, userEmails, stored] = [
    columnSet('SELECT event_id FROM billing_events'),
    columnSet('SELECT email FROM users'),
    columnSet('SELECT key FROM attachments'),
  ]
  const fileExists = (key: string) => existsSync(join(dataDir, 'files', key.slice(0, 1), key))
  return {
    lost: [
      ...events.filter((id) => !eventIds.has(id)),
      ...emails.filter((email) => !userEmails.has(email)),
      ...keys.filter((key) => !stored.has(key) || !fileExists(key)),
    ],
    rowsWithoutFile: [...stored].filter((key) => !fileExists(String(key))),
    integrity: client.query('PRAGMA integrity_check').values().flat(),
  }
}
