import { Elysia } from 'elysia'
import { AppError } from '../../../lib/errors.ts'
import type { ConsoleContext } from '../../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../../platform/http/console-guard.ts'
import { data } from '../../../platform/http/replies/envelope.ts'
import { readSlices, withoutSearchTexts } from '../../../platform/lists/csv.ts'
import { AUDIT_CSV, type AuditFilter, listUserIds } from '../audit.ts'
import { AuditQuery, toAuditFilter } from '../model.ts'
import type { Operators } from '../operators.ts'

type AuditAdminDeps = { operators: Pick<Operators, 'audit'> } & Pick<
  ConsoleContext,
  'record' | 'exportCsv' | 'namesOf'
>

/** The maximum number of entries in an export. */
const MAX_EXPORTED = 10_000

/** The audit log and its exports. */
export function auditAdmin({ operators, record, exportCsv, namesOf }: AuditAdminDeps) {
  const { audit } = operators
  return new Elysia({ name: 'audit-admin', prefix: CONSOLE_API })
    .get('/audit', async ({ query }) => data(await listAudit(toAuditFilter(query))), {
      query: AuditQuery,
      ...allow('reader'),
    })
    .get(
      '/audit/export.csv',
      (context) => {
        const filter = toAuditFilter(context.query)
        const read = readSlices('entries', (page) => audit.list({ ...filter, ...page }))
        return exportCsv(context, { ...AUDIT_CSV, read })
      },
      { query: AuditQuery, ...allow('operator', 'stepUp') },
    )
    .get(
      '/audit/export',
      async ({ request, query, set }) => {
        const filter = toAuditFilter(query)
        const { entries, next } = await audit.list({ ...filter, limit: MAX_EXPORTED })
        if (next !== null) throw tooManyToExport()
        await record(request, { action: 'audit.export', after: withoutSearchTexts(query) })
        set.headers['content-disposition'] = 'attachment; filename="audit.json"'
        return entries
      },
      { query: AuditQuery, ...allow('operator', 'stepUp') },
    )

  /** A page of the log, with the names of the users in it. */
  async function listAudit(filter: AuditFilter) {
    const page = await audit.list(filter)
    return { ...page, names: await namesOf(page.entries.flatMap(listUserIds)) }
  }
}

function tooManyToExport(): AppError {
  return new AppError(
    'validation_failed',
    `More than ${MAX_EXPORTED.toLocaleString('en')} entries match. Filter by date, or download them as CSV.`,
  )
}
