import { encodeSegment } from '../../lib/path-segment.ts'
import { openPage, send } from '../api.ts'
import { bytes } from '../format.ts'
import type { FilesPage, Me } from '../types.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Act, Ago, Badge, Card, Empty } from '../ui/parts.tsx'
import { Loaded, usePages } from '../ui/remote.tsx'

/** What somebody has stored. */
export function PersonFiles({ id, me }: { id: string; me: Me }) {
  const path = `people/${encodeSegment(id)}/files`
  const { first, rows, next, loadMore } = usePages(path, (page: FilesPage) => page.records)
  return (
    <Card title="Files">
      <Loaded from={first}>
        {() => (
          <>
            {rows.length === 0 && <Empty>Nothing is stored.</Empty>}
            <ul class="list">
              {rows.map(({ key, fileName, type, size, url, createdAt }) => (
                <li key={key}>
                  <FileName name={fileName} url={url} />
                  <Badge>{type}</Badge>
                  <span class="soft">
                    {bytes(size)}, <Ago at={createdAt} />
                  </span>
                  {me.role !== 'reader' && (
                    <span class="actions">
                      {url === null && (
                        <Act act={() => openPage(`${path}/${key}/open`)}>Open {fileName}</Act>
                      )}
                      <Confirm
                        label={`Delete ${fileName}`}
                        done={`${fileName} is deleted.`}
                        act={async () => {
                          await send(`${path}/${key}/delete`)
                          await first.reload()
                        }}
                      >
                        <p>The file is gone for good.</p>
                      </Confirm>
                    </span>
                  )}
                </li>
              ))}
            </ul>
            {next !== null && <Act act={loadMore}>More</Act>}
          </>
        )}
      </Loaded>
    </Card>
  )
}

/** A link where everybody may read the file. */
function FileName({ name, url }: { name: string; url: string | null }) {
  if (url === null) return <span>{name}</span>
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {name}
    </a>
  )
}
