package com.example.app

object BuildConfig {
    const val DEBUG = true
    const val VERSION_CODE = 231
    const val VERSION_NAME = "2.3.1"
}
