import { encodeSegment } from '../../lib/path-segment.ts'
import { openInTab, send } from '../api.ts'
import { bytes } from '../format.ts'
import { canEdit } from '../operator.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Action, Badge, Card, List, TimeAgo } from '../ui/parts.tsx'
import { Loaded, usePages } from '../ui/remote.tsx'

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
  const { first, rows, next, loadMore } = usePages(path, (page: FilesPage) => page.records)
  const remove = async (key: string) => {
    await send(`${path}/${key}/delete`)
    await first.reload()
  }
  return (
    <Card title="Files">
      <Loaded from={first}>
        {() => (
          <>
            <List items={rows} empty="No files.">
              {({ key, fileName, type, size, url, createdAt }) => (
                <li key={key}>
                  {url === null ? (
                    <span>{fileName}</span>
                  ) : (
                    <a href={url} target="_blank" rel="noreferrer">
                      {fileName}
                    </a>
                  )}
                  <Badge>{type}</Badge>
                  <span class="soft">
                    {bytes(size)}, <TimeAgo at={createdAt} />
                  </span>
                  {canEdit.value && (
                    <span class="actions">
                      {url === null && (
                        <Action run={() => openInTab(`${path}/${key}/open`)}>
                          Open {fileName}
                        </Action>
                      )}
                      <Confirm
                        label={`Delete ${fileName}`}
                        done={`Deleted ${fileName}.`}
                        run={() => remove(key)}
                      >
                        <p>You cannot undo this.</p>
                      </Confirm>
                    </span>
                  )}
                </li>
              )}
            </List>
            {next !== null && <Action run={loadMore}>Load more</Action>}
          </>
        )}
      </Loaded>
    </Card>
  )
}
