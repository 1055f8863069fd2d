package android.content.res

import java.io.Closeable

abstract class AssetFileDescriptor : Closeable {
    abstract val length: Long
}
