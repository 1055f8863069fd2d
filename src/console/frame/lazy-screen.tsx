import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Empty, Title } from '../ui/parts.tsx'
import { Loading } from '../ui/remote.tsx'

type Module<Props> = { Screen: ComponentType<Props> }

/** A screen, or a tab without a `title`, whose module is loaded when it is first opened. */
export function lazyScreen<Props extends object>(
  title: string,
  load: () => Promise<Module<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null
  return function LazyScreen(props: Props) {
    const [Screen, setScreen] = useState(() => loaded)
    const [hasFailed, setFailed] = useState(false)
    useEffect(() => {
      if (loaded) return
      load().then(
        (module) => {
          loaded = module.Screen
          setScreen(() => loaded)
        },
        () => setFailed(true),
      )
    }, [])
    if (Screen) return <Screen {...props} />
    return (
      <>
        {title !== '' && <Title>{title}</Title>}
        {hasFailed ? <Empty>This screen could not be loaded. Reload the page.</Empty> : <Loading />}
      </>
    )
  }
}
