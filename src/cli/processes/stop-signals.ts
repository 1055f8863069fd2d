import { readFileSync } from 'node:fs'
import { tryTo } from '../../lib/errors.ts'

/** The signals that stop a command. Excludes SIGHUP if `nohup` keeps it alive after its terminal closes. */
export function listStopSignals(): NodeJS.Signals[] {
  return ['SIGTERM', 'SIGINT', ...(ignoresHangUp() ? [] : ['SIGHUP' as const])]
}

/** Keeps the signals from stopping this command, until disposed. */
export function ignoreStopSignals(): Disposable {
  const signals = listStopSignals()
  const ignore = () => {}
  for (const signal of signals) process.on(signal, ignore)
  return {
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, ignore)
    },
  }
}

/** Whether this process was started with SIGHUP ignored: the lowest bit of a hexadecimal mask. Linux only. */
function ignoresHangUp(): boolean {
  const status = tryTo(() => readFileSync('/proc/self/status', 'utf8')) ?? ''
  return /^SigIgn:.*[13579bdf]$/m.test(status)
}
