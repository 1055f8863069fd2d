import type { createUsage } from '../../features/attachments/usage.ts'
import type { ReplyOf } from '../api.ts'
import { bytes, plural } from '../format.ts'
import { linkTo } from '../router.ts'
import { Action, Card, List, TimeAgo, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type Usage = ReplyOf<ReturnType<typeof createUsage>['read']>

/** Storage used by files, by type and by user. */
export function FilesScreen() {
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
                <List items={data.types} empty="No files yet.">
                  {({ type, files, bytes: size }) => (
                    <li key={type}>
                      <span>{type}</span>
                      <span>{plural(files, 'file')}</span>
                      <span>{bytes(size)}</span>
                    </li>
                  )}
                </List>
              </Card>
              <Card title="Users by storage used">
                <List items={data.largest}>
                  {({ userId, files, bytes: size }) => (
                    <li key={userId}>
                      <a class="mono" href={linkTo(`people/${userId}/files`)}>
                        {userId}
                      </a>
                      <span>{plural(files, 'file')}</span>
                      <span>{bytes(size)}</span>
                    </li>
                  )}
                </List>
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
