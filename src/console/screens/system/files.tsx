import type { createFileUsage } from '../../../features/attachments/usage.ts'
import type { ReplyOf } from '../../api.ts'
import { publicUrl } from '../../declared.ts'
import { bytes, number } from '../../format.ts'
import { Action, Card, CopyLine, TimeAgo, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { type Column, ListBar, Table } from '../../ui/table.tsx'
import { UserLink } from '../../ui/user-link.tsx'

type Counted = NonNullable<ReplyOf<ReturnType<typeof createFileUsage>['read']>>
type Usage = (Counted & { names: Record<string, string> }) | null

const TOTALS: Column<{ files: number; bytes: number }>[] = [
  { name: 'Files', kind: 'number', sort: '-files', field: 'files', format: number },
  { name: 'Size', onPhone: 'aside', kind: 'number', sort: '-bytes', field: 'bytes', format: bytes },
]

/** Storage used by files, by type and by user. */
export function Screen() {
  const usage = useRemote<Usage>('files')
  return (
    <>
      <Title>Files</Title>
      {usage.data === null && usage.error === null && (
        <div class="actions">
          <span class="soft">Counting files…</span>
          <Action run={usage.reload}>Refresh</Action>
        </div>
      )}
      <Loaded from={usage}>
        {(data) =>
          data === null ? null : (
            <>
              <Card title="By type">
                <Table
                  caption="Storage by type"
                  rows={data.types}
                  keyOf={({ type }) => type}
                  empty={<NoFiles />}
                  columns={[{ name: 'Type', field: 'type' }, ...TOTALS]}
                />
              </Card>
              <Card title="Users by storage used">
                <ListBar noun="user" total={data.largest.length} csv="files" isPersonal />
                <Table
                  caption="Users by storage used"
                  rows={data.largest}
                  keyOf={({ userId }) => userId}
                  order="-bytes"
                  empty="No files yet."
                  columns={[
                    {
                      name: 'User',
                      cell: ({ userId }) => (
                        <UserLink id={userId} names={data.names} tab="/files" />
                      ),
                    },
                    ...TOTALS,
                  ]}
                />
              </Card>
              <p class="soft">
                Counted <TimeAgo at={data.countedAt} />
              </p>
            </>
          )
        }
      </Loaded>
    </>
  )
}

function NoFiles() {
  return (
    <>
      <p>
        No files yet. They are images and documents that apps upload for their users, as the{' '}
        <a href="/docs">API reference</a> describes:
      </p>
      <CopyLine name="URL" text={publicUrl('/api/user/attachments/v1')} />
    </>
  )
}
