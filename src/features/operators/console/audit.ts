import { Elysia } from 'elysia'
import { AppError } from '../../../lib/errors.ts'
import type { ConsoleContext } from '../../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../../platform/http/console-guard.ts'
import { withoutSearchTexts } from '../../../platform/lists/csv.ts'
import { AuditQuery, toAuditFilter } from '../model.ts'
import type { Operators } from '../operators.ts'

type AuditConsoleDeps = { operators: Pick<Operators, 'audit'> } & Pick<ConsoleContext, 'record'>

/** The maximum number of entries in an export. */
const MAX_EXPORTED = 10_000

/** Exports the audit log as JSON. */
export function auditConsole({ operators: { audit }, record }: AuditConsoleDeps) {
  return new Elysia({ name: 'audit-console', prefix: CONSOLE_API }).get(
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
}

function tooManyToExport(): AppError {
  return new AppError(
    'validation_failed',
    `More than ${MAX_EXPORTED.toLocaleString('en')} entries match. Filter by date, or download them as CSV.`,
  )
}
