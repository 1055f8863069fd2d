import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { openInTab } from '../../api.ts'
import { bytes } from '../../format.ts'
import { canEdit } from '../../operator.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { Action, Card } from '../../ui/parts.tsx'
import { usePages } from '../../ui/remote.tsx'
import { asTimeAgo, type Column, PagedTable } from '../../ui/table.tsx'
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
  const pages = usePages(path, ({ records }: FilesPage) => records)
  const columns: Column<File>[] = [
    { name: 'Name', cell: FileName },
    { name: 'Type', onPhone: 'line', field: 'type' },
    { name: 'Size', onPhone: 'line', kind: 'number', field: 'size', format: bytes },
    { name: 'Added', onPhone: 'line', field: 'createdAt', format: asTimeAgo },
  ]
  const actions: Column<File> = {
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
        <ActionButton
          path="people/:id/files/:key/delete"
          input={{ id, key }}
          target={fileName}
          isShort
          onDone={pages.reload}
        />
      </>
    ),
  }
  return (
    <Card title="Files">
      <PagedTable
        caption="Files"
        pages={pages}
        noun="file"
        columns={[...columns, canEdit.value && actions]}
        empty="No files."
      />
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
