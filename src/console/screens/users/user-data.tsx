import type { DataService } from '../../../features/data/service.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import type { ReplyOf } from '../../api.ts'
import { Card, TimeAgo } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'

type Documents = ReplyOf<DataService['list']>

const TITLES = [
  ['app', 'Data'],
  ['server', 'Server data'],
] as const

/** The documents that the app and its servers store for a user. */
export function UserData({ id }: { id: string }) {
  const documents = useRemote<Documents>(`people/${encodeSegment(id)}/data`)
  return (
    <Loaded from={documents}>
      {(list) => (
        <>
          {TITLES.map(([author, title]) => {
            const document = list.find((one) => one.author === author)
            return (
              <Card title={title} key={author}>
                {document ? (
                  <>
                    <p class="soft">
                      Last changed <TimeAgo at={document.updatedAt} />
                    </p>
                    <pre>{JSON.stringify(document.content, null, 2)}</pre>
                  </>
                ) : (
                  <p class="soft">No data.</p>
                )}
              </Card>
            )
          })}
        </>
      )}
    </Loaded>
  )
}
