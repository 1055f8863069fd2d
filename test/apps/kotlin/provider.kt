package android.provider

import android.content.ContentResolver

object Settings {
    object Secure {
        const val ANDROID_ID = "android_id"
        fun getString(resolver: ContentResolver, name: String): String = TODO()
    }
}
