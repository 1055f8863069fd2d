import { send } from '../api.ts'
import { bytes } from '../format.ts'
import type { FilesPage, Me } from '../types.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Act, Ago, Badge, Card, Empty } from '../ui/parts.tsx'
import { Loaded, usePages } from '../ui/remote.tsx'

/** What somebody has stored. */
export function PersonFiles({ id, me }: { id: string; me: Me }) {
  const path = `people/${encodeURIComponent(id)}/files`
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
                  <a href={url} target="_blank" rel="noreferrer">
                    {fileName}
                  </a>
                  <Badge>{type}</Badge>
                  <span class="soft">
                    {bytes(size)}, <Ago at={createdAt} />
                  </span>
                  {me.role !== 'reader' && (
                    <span class="actions">
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
