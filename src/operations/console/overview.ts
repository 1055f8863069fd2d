import type { Server } from 'bun'
import { type Context, Elysia } from 'elysia'
import type { UnmatchedProduct } from '../../features/billing/access/offers.ts'
import { withTimeout } from '../../lib/concurrency/with-timeout.ts'
import { describeExamples } from '../../lib/example-content.ts'
import { freeSpace } from '../../lib/files/free-space.ts'
import type { LiveLines } from '../../lib/log/live-lines.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import type { Readiness } from '../../platform/http/health.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import type { JobRun } from '../../platform/jobs/jobs.ts'
import type { Recorder } from '../../platform/metrics/snapshots.ts'
import type { Monitored } from '../monitored.ts'
import type { Backups } from './backups.ts'
import { followLines, followSession } from './live.ts'

const BACKUPS_TIMEOUT_MS = 2_000

type HealthConsoleDeps = Monitored & {
  readiness: () => Promise<Readiness>
  listUnmatched: () => Promise<UnmatchedProduct[]>
  recorder: Recorder
  backups: Backups | null
  jobRuns: Map<string, JobRun | null>
  liveLines: LiveLines
  isSignedIn: (request: Request) => Promise<boolean>
}

const RECENT_MINUTES = 10

export function healthConsole(deps: HealthConsoleDeps) {
  const { liveLines, isSignedIn } = deps
  const stream =
    (follow: typeof followSession) =>
    ({ request, server, set }: Context) =>
      follow(liveLines, {
        request,
        server: server as Server<unknown> | null,
        set,
        isAllowed: () => isSignedIn(request),
      })
  return new Elysia({ name: 'health-console', prefix: CONSOLE_API })
    .get('/overview', async () => data(await readOverview(deps)), allow('reader'))
    .get('/live', stream(followLines), allow('reader'))
    .get('/session', stream(followSession), allow('self'))
}

export type Overview = Awaited<ReturnType<typeof readOverview>>

async function readOverview(deps: HealthConsoleDeps) {
  const { config, db, version, readiness, eventSearch, rates, outbox, recorder, now } = deps
  const { bytes: freeBytes } = await freeSpace(config.dataDir)
  // An object store may not respond: the readiness says why.
  const listed =
    deps.backups && withTimeout(deps.backups.list(), BACKUPS_TIMEOUT_MS, () => new Error('late'))
  const [newest] = (await listed?.catch(() => null))?.backups ?? []
  const served = await rates.readIfServed()
  return {
    version,
    instance: config.instance,
    now: now().toISOString(),
    ready: await readiness(),
    traffic: await recorder.sumLastMinutes(RECENT_MINUTES),
    events: {
      ...(await eventSearch.countMarked()),
      latestAt: (await eventSearch.latest())?.toISOString() ?? null,
      isConfigured: config.webhookTokens.length > 0,
      unmatchedProducts: await deps.listUnmatched(),
    },
    plans: { warnings: await deps.plans.warn() },
    examples: describeExamples(await deps.settings.read(), await deps.plans.list()),
    rates: { updatedAt: served?.updatedAt ?? null, isRefreshed: rates.isRefreshed },
    disk: { freeBytes, minFreeBytes: config.minFreeBytes },
    database: { bytes: await db.size(), place: db.place },
    mails: { waiting: await outbox.count(), isConfigured: config.smtpUrl !== null },
    webhooks: { failed: (await deps.webhooks?.health.listFailed())?.length ?? 0 },
    backup: {
      latest: newest && { at: newest.at.toISOString(), bytes: newest.bytes, name: newest.name },
      schedule: config.backupSchedule,
    },
    jobs: [...deps.jobRuns].map(([name, run]) => ({
      name,
      lastAt: run?.at.toISOString() ?? null,
      ms: run?.ms ?? null,
      error: run?.error ?? null,
    })),
  }
}
