/** The signatures of Android that docs/google-play-kotlin.md uses. */
package android.content

import android.net.Uri

abstract class Context {
    open val packageName: String get() = TODO()
    open fun getSharedPreferences(name: String, mode: Int): SharedPreferences = TODO()
    open fun startActivity(intent: Intent): Unit = TODO()

    companion object {
        const val MODE_PRIVATE = 0
    }
}

interface SharedPreferences {
    fun getString(key: String, default: String?): String?
    fun edit(): Editor

    interface Editor {
        fun putString(key: String, value: String?): Editor
        fun remove(key: String): Editor
        fun clear(): Editor
        fun apply()
    }
}

class Intent(action: String, uri: Uri) {
    companion object {
        const val ACTION_VIEW = "android.intent.action.VIEW"
    }
}
