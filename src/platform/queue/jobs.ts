import type { Job } from '../jobs/jobs.ts'
import type { Queue } from './queue.ts'

export type ServedQueue = Pick<Queue, 'wake' | 'stop'> & Partial<Pick<Queue, 'repair'>>

/** The jobs of all queues. Each instance has its own slots, so each wakes its queues. */
export function queueJobs(queues: ServedQueue[]): Job[] {
  return [
    {
      name: 'queues',
      schedule: ['* * * * *'],
      // Does not wait for the work, because a stopping server waits for its jobs.
      run: async () => {
        for (const { wake } of queues) wake()
      },
      isDueAtStart: async () => true,
      runsOnEveryInstance: true,
    },
    {
      name: 'queues after the clock was ahead',
      schedule: [],
      run: async () => void (await Promise.all(queues.map(({ repair }) => repair?.()))),
      runsAfterSetBack: true,
    },
  ]
}
