import { Fragment } from 'preact'
import { encodeSegment } from '../../lib/text/path-segment.ts'
import { unnamedUser } from '../format.ts'
import { linkTo } from '../router.ts'

type UserLinkProps = {
  id: string | null
  /** By id; empty for guests. */
  names: Record<string, string>
  /** The tab of the user's screen, such as `/files`. */
  tab?: string
}

/** A link to a user. An unknown id is shown shortened, without a link. */
export function UserLink({ id, names, tab = '' }: UserLinkProps) {
  if (id === null) return null
  const name = names[id]
  if (name === undefined) return <ShortId id={id} />
  return (
    <a href={linkTo(`people/${encodeSegment(id)}${tab}`)} title={id}>
      <Breakable text={name || unnamedUser(id)} />
    </a>
  )
}

const MAX_LENGTH = 20

/** A name or an address in a narrow column: breaks at its punctuation, and anywhere only in a long part. */
export function Breakable({ text }: { text: string }) {
  return (
    <>
      {text.split(/(?=@)|(?<=[\s._:/-])/).map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part.length > MAX_LENGTH ? <span class="anywhere">{part}</span> : part}
        </Fragment>
      ))}
    </>
  )
}

/** The beginning and the end of a long id; the tooltip is the whole id. */
export function ShortId({ id }: { id: string }) {
  return (
    <span class="mono" title={id}>
      {id.length > MAX_LENGTH ? `${id.slice(0, 8)}…${id.slice(-4)}` : id}
    </span>
  )
}
