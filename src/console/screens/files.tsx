import { bytes, number } from '../format.ts'
import { linkTo } from '../router.ts'
import type { Usage } from '../types.ts'
import { Act, Ago, Card, Empty, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

/** What people store, and who stores most. */
export function FilesScreen() {
  const usage = useRemote<Usage>('files')
  return (
    <>
      <Title>Files</Title>
      {usage.data === null && usage.error === null && (
        <div class="actions">
          <span class="soft">The files are being counted.</span>
          <Act act={usage.reload}>Look again</Act>
        </div>
      )}
      <Loaded from={usage}>
        {(data) =>
          data === null ? null : (
            <>
              <Card title="By type">
                {data.types.length === 0 && <Empty>Nothing is stored yet.</Empty>}
                <ul class="list">
                  {data.types.map(({ type, files, bytes: size }) => (
                    <li key={type}>
                      <span>{type}</span>
                      <span>{number(files)} files</span>
                      <span>{bytes(size)}</span>
                    </li>
                  ))}
                </ul>
              </Card>
              <Card title="Who stores most">
                <ul class="list">
                  {data.largest.map(({ userId, files, bytes: size }) => (
                    <li key={userId}>
                      <a class="mono" href={linkTo(`people/${userId}/files`)}>
                        {userId}
                      </a>
                      <span>{number(files)} files</span>
                      <span>{bytes(size)}</span>
                    </li>
                  ))}
                </ul>
              </Card>
              <p class="soft">
                Counted <Ago at={data.countedAt} />
              </p>
            </>
          )
        }
      </Loaded>
    </>
  )
}
