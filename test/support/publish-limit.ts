import type { installExecutable } from './executable.ts'

type Homeport = Awaited<ReturnType<typeof installExecutable>>

/** Gives every plan the limit `name`, which never resets, through commands that `run` executes. */
export async function publishLimit(
  run: (args: string[], input?: string) => ReturnType<Homeport['run']>,
  name: string,
  max: number,
) {
  const { stdout } = await run(['plans', 'export'])
  const plans = (JSON.parse(stdout) as object[]).map((plan) => ({
    ...plan,
    limits: { [name]: max },
    limitPeriods: { [name]: 'total' },
  }))
  const imported = await run(['plans', 'import', '-'], JSON.stringify(plans))
  if (imported.exitCode !== 0) throw new Error(imported.stderr)
}
