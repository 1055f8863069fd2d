import { t } from 'elysia'
import { defineAction } from '../../../platform/actions/action.ts'
import { closedObject } from '../../../platform/http/replies/envelope.ts'
import { type ImportReport, importFile } from './import-file.ts'
import type { Importer } from './importer.ts'
import type { UserRecord } from './user-record.ts'

const Part = closedObject({
  users: t.Array(t.Unsafe<UserRecord>(t.Any())),
  dryRun: t.Boolean(),
  kinds: t.Array(t.String()),
})

export const importUsers = defineAction({
  name: 'users.import',
  summary: 'Import users from Firebase, Supabase, PocketBase or JSON Lines',
  label: 'Imported users',
  role: 'owner',
  input: Part,
  console: null,
  work: ({ users: { importer } }: { users: { importer: Importer } }, part) =>
    importer.importPart(part),
  audit({ decisions }, { dryRun }) {
    const imported = decisions.filter((decision) => decision === null).length
    const replaced = decisions.filter((decision) => decision === 'replaced').length
    if (dryRun || imported + replaced === 0) return null
    return { after: { imported, ...(replaced > 0 ? { replaced } : {}) } }
  },
  command: {
    arguments: { file: '<file>' },
    options: [
      ['--format <format>', 'jsonl, firebase, supabase or pocketbase (default: detected)'],
      ['--dry-run', 'only report what would be imported and refused'],
      ['--hash-config <file>', 'the password hash parameters of a Firebase project'],
      ['--signer-key <base64>', 'Firebase: base64_signer_key'],
      ['--salt-separator <base64>', 'Firebase: base64_salt_separator'],
      ['--rounds <number>', 'Firebase: rounds'],
      ['--mem-cost <number>', 'Firebase: mem_cost'],
      ['--collection <name>', 'PocketBase: the auth collection in data.db (default: users)'],
      [
        '--check <file>',
        'check a known password against the file first: a text file with the user’s address and password, one per line',
      ],
      ['--source <name>', 'distinguishes systems whose users have the same ids'],
    ],
    steps: importFile,
    print: formatReport,
    isFailure: ({ imported, present, damagedAt }) => imported + present === 0 || damagedAt !== null,
  },
})

function formatReport(report: ImportReport): string {
  const { dryRun, format, imported, present, changed, replaced, refused, withoutPassword } = report
  const { reasons, refusedUsers, refusedFile, idsFile, damagedAt } = report
  const sorted = Object.entries(reasons).toSorted(([, one], [, other]) => other - one)
  return [
    dryRun ? 'Dry run: nothing was written.' : null,
    `${dryRun ? 'Would import' : 'Imported'} ${users(imported)}${format === null ? '' : ` (${format})`}.`,
    withoutPassword === 0
      ? null
      : `${users(withoutPassword)} of these have no password: they set one with “forgot password”, or sign in with Google or Apple under the same address.`,
    present === 0 ? null : `${users(present)} from an earlier import, left unchanged.`,
    replaced === 0
      ? null
      : `${users(replaced)} of these ${dryRun ? 'would get' : 'got'} the password hash of this file, because the earlier one had never matched.`,
    changed === 0
      ? null
      : `${users(changed)} of these now have another address. If they are other people, because another system has the same ids, import this file with --source and a name.`,
    refused === 0 ? null : `Refused ${users(refused)}:`,
    ...sorted.map(([reason, count]) => `  ${count} × ${reason}`),
    ...refusedUsers.map(({ line, id, email, reason }) =>
      [`line ${line}`, email ?? id ?? '-', reason].join('\t'),
    ),
    refusedUsers.length > 0 && refusedUsers.length < refused
      ? `… and ${refused - refusedUsers.length} more`
      : null,
    damagedAt === null
      ? null
      : `The file is damaged or incomplete at line ${damagedAt}: nothing after it was read. Fix it and import it again; existing users are left unchanged.`,
    imported + present + refused === 0 ? 'The file has no users.' : null,
    refusedFile === null ? null : `Refused users: ${refusedFile}`,
    idsFile === null ? null : `Former and new ids: ${idsFile}`,
  ]
    .filter((line) => line !== null)
    .join('\n')
}

function users(count: number): string {
  return `${count} ${count === 1 ? 'user' : 'users'}`
}
