import type { Contender } from './contender.ts'
import type { Generator, Step } from './generator.ts'
import type { StepResult } from './open-loop.ts'
import { machineCpuTime, treeCpuTime, waitUntilIdle } from './process-tree.ts'

/** A server and the process that generates its load. */
export type ServerUnderLoad = { contender: Contender; generator: Generator }

/** A step, and how many cores each part kept busy. */
export type Measurement = {
  rate: number
  /** Time until everything was answered, in ms. */
  elapsed: number
  result: StepResult
  cores: {
    server: number
    generator: number
    /** Used by other programs; a high value makes the step's figures unreliable. */
    others: number
  }
}

/** Puts one server under load and waits until it is idle. */
export async function measureStep(
  { contender, generator }: ServerUnderLoad,
  step: Step,
): Promise<Measurement> {
  const before = await readTimes()
  const startedAt = performance.now()
  const result = await generator.run(step)
  const elapsed = performance.now() - startedAt
  const after = await readTimes()
  await waitUntilIdle(contender.pid)
  const [machine = 0, server = 0, generating = 0] = after.map(
    (time, at) => (time - (before[at] ?? 0)) / elapsed,
  )
  const others = Math.max(machine - server - generating, 0)
  return { rate: step.rate, elapsed, result, cores: { server, generator: generating, others } }

  async function readTimes() {
    return [
      await machineCpuTime(),
      await treeCpuTime(contender.pid),
      await treeCpuTime(generator.pid),
    ]
  }
}
