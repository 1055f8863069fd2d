package com.example.app

object BuildConfig {
    const val DEBUG = true
}
