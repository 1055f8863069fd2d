/** The signatures of Android that the pages for Kotlin use. */
package android.content

import android.content.res.AssetFileDescriptor
import android.net.Uri
import java.io.File
import java.io.InputStream

abstract class Context {
    open val packageName: String get() = TODO()
    open val noBackupFilesDir: File get() = TODO()
    open val contentResolver: ContentResolver get() = TODO()
    open fun startActivity(intent: Intent): Unit = TODO()
}

abstract class ContentResolver {
    abstract fun getType(uri: Uri): String?
    abstract fun openInputStream(uri: Uri): InputStream?
    abstract fun openAssetFileDescriptor(uri: Uri, mode: String): AssetFileDescriptor?
}

class Intent(action: String, uri: Uri) {
    companion object {
        const val ACTION_VIEW = "android.intent.action.VIEW"
    }
}
