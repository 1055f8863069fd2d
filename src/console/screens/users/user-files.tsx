import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { openInTab, send } from '../../api.ts'
import { bytes } from '../../format.ts'
import { canEdit } from '../../operator.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { Action, Card, TimeAgo } from '../../ui/parts.tsx'
import { Loaded, usePages } from '../../ui/remote.tsx'
import { ListBar, Table } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'

type File = {
  key: string
  type: string
  fileName: string
  size: number
  /** Null for a private file: opening one requires a proof. */
  url: string | null
  createdAt: string
}
type FilesPage = { records: File[]; next: string | null }

export function UserFiles({ id }: { id: string }) {
  const path = `people/${encodeSegment(id)}/files`
  const { first, rows, next, total, loadMore, reload } = usePages(
    path,
    (page: FilesPage) => page.records,
  )
  const remove = async (key: string) => {
    await send(`${path}/${key}/delete`)
    await reload()
  }
  return (
    <Card title="Files">
      <Loaded from={first}>
        {() => (
          <>
            <ListBar noun="file" total={total} csv={path} isPersonal />
            <Table
              caption="Files"
              rows={rows}
              keyOf={({ key }) => key}
              empty="No files."
              columns={[
                { name: 'Name', cell: FileName },
                { name: 'Type', onPhone: 'line', cell: ({ type }) => type },
                { name: 'Size', onPhone: 'line', kind: 'number', cell: ({ size }) => bytes(size) },
                {
                  name: 'Added',
                  onPhone: 'line',
                  cell: ({ createdAt }) => <TimeAgo at={createdAt} />,
                },
                canEdit.value && {
                  name: 'Actions',
                  kind: 'actions',
                  cell: ({ key, fileName, url }) => (
                    <>
                      {url === null && (
                        <Action run={() => openInTab(`${path}/${key}/open`)}>
                          <span>
                            Open <Breakable text={fileName} />
                          </span>
                        </Action>
                      )}
                      <Confirm
                        label={`Delete ${fileName}`}
                        shortLabel="Delete"
                        verb="Delete file"
                        done={`Deleted ${fileName}.`}
                        run={() => remove(key)}
                      >
                        <p>You cannot undo this.</p>
                      </Confirm>
                    </>
                  ),
                },
              ]}
            />
            {next !== null && <Action run={loadMore}>Load more</Action>}
          </>
        )}
      </Loaded>
    </Card>
  )
}

function FileName({ fileName, url }: File) {
  if (url === null) return <Breakable text={fileName} />
  return (
    <a href={url} target="_blank" rel="noreferrer">
      <Breakable text={fileName} />
    </a>
  )
}
