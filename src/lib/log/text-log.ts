import { prettyFactory } from 'pino-pretty'
import { escapeControls } from './log-output.ts'

type Line = { method?: string; route?: string; status?: number; ms?: number; requestId?: string }

/** Formats a JSON log line for a terminal: time of day, level, message. */
export function createTextFormat(colorize: boolean): (line: string) => string {
  const format = prettyFactory({ colorize, singleLine: true, translateTime: 'SYS:HH:MM:ss' })
  return (line) => {
    const { method, route, status, ms, requestId, ...record } = JSON.parse(line) as Line
    const msg = `${method} ${route} ${status} in ${ms} ms`
    const id = requestId ? { requestId } : {}
    return escapeControls(format(method === undefined ? { ...id, ...record } : { ...record, msg }))
  }
}
