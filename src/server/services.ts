import { createLiveLines, type LiveLines } from '../lib/log/live-lines.ts'
import type { Backups } from '../operations/console/backups.ts'
import { type HostState, NO_HOST_STATE } from '../operations/host-state.ts'
import { createMonitoring } from '../operations/monitoring.ts'
import type { OpenDb } from '../platform/db/db.ts'
import type { Job, JobRun } from '../platform/jobs/jobs.ts'
import { createMetrics } from '../platform/metrics/metrics.ts'
import { queueJobs } from '../platform/queue/jobs.ts'
import { BUILD } from '../version.ts'
import { conditions, metrics as declaredMetrics, UserExport } from './declarations.ts'
import { createFeatures, type FeaturesDeps, type Tables } from './features.ts'
import { createPlatform, type PlatformDeps } from './platform.ts'

export type ServicesDeps = PlatformDeps<OpenDb<Tables>> &
  Omit<FeaturesDeps, 'readMetric' | 'conditions' | 'exportSchema'> & {
    /** When the server that uses these services started; null for a command that runs without a server. */
    servingSince?: Date | null
    host?: HostState
    /** The last log lines, if a server writes a log. */
    liveLines?: LiveLines
    /** Null if there is no server. */
    backups?: Backups | null
    jobRuns?: Map<string, JobRun | null>
  }

export type Services = Awaited<ReturnType<typeof createServices>>

export async function createServices(deps: ServicesDeps) {
  const { secrets: _secrets, ...platform } = await createPlatform(deps)
  const { parts, services } = createFeatures(
    { ...platform, secrets: deps.secrets },
    {
      ...deps,
      readMetric: (name) => metrics.read(name),
      conditions,
      exportSchema: UserExport,
    },
  )
  const monitored = {
    ...platform,
    ...services,
    version: BUILD,
    servingSince: deps.servingSince ?? null,
    host: deps.host ?? NO_HOST_STATE,
  }
  const { observeRequest, ...monitoring } = createMonitoring(monitored)
  const { readiness } = monitoring
  const { instance } = platform.config
  const metrics = createMetrics(declaredMetrics, { ...monitored, readiness }, instance)
  // The clock is checked against the newest sample. A sample written by a wrong clock would make
  // that clock look right, so the job waits while the clock is in doubt.
  const samples: Job = {
    name: 'samples',
    schedule: ['* * * * *'],
    run: monitoring.recorder.flush,
    runsOnEveryInstance: true,
    deletesByAge: true,
  }
  const queues = parts.flatMap((part) => part.queues ?? [])
  return {
    ...monitored,
    ...monitoring,
    metrics: { ...metrics, observeRequest, countDenial: platform.registry.countDenial },
    parts,
    jobs: [
      ...queueJobs(queues),
      ...parts.flatMap(({ jobs = [] }) => jobs),
      ...platform.jobs,
      samples,
    ],
    stopQueues: () => Promise.all(queues.map(({ stop }) => stop())),
    checkSession: services.users.sessions.check,
    liveLines: deps.liveLines ?? createLiveLines(),
    jobRuns: deps.jobRuns ?? new Map<string, JobRun | null>(),
    backups: deps.backups ?? null,
  }
}
