/// Extensions of file names by media type, for `suggestedFilename`.
enum FilenameExtension {
  /// The type's extension; nil for types that are rare, or that say nothing of the content (`application/octet-stream`).
  static func of(mimeType: String) -> String? { common[mimeType] }

  /// Whether a dot within the name is followed by an extension. The dot of a hidden file (`.profile`) counts, a dot before a
  /// blank does not.
  static func isIn(_ name: String) -> Bool {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
    let rest = name.utf8[dot...].dropFirst()
    return !rest.isEmpty && !rest.contains(0x20)
  }

  /// Common types with an extension that shared-mime-info 2.2 (freedesktop.org) lists for them: the usual one where it lists several.
  private static let common: [String: String] = [
    "application/atom+xml": "atom",
    "application/epub+zip": "epub",
    "application/geo+json": "geojson",
    "application/gzip": "gz",
    "application/java-archive": "jar",
    "application/javascript": "js",
    "application/json": "json",
    "application/ld+json": "jsonld",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/postscript": "ps",
    "application/rss+xml": "rss",
    "application/rtf": "rtf",
    "application/sql": "sql",
    "application/vnd.android.package-archive": "apk",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/x-7z-compressed": "7z",
    "application/x-bzip2": "bz2",
    "application/x-gzip": "gz",
    "application/x-tar": "tar",
    "application/x-xz": "xz",
    "application/x-zip-compressed": "zip",
    "application/xhtml+xml": "xhtml",
    "application/xml": "xml",
    "application/zip": "zip",
    "application/zstd": "zst",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "oga",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "font/otf": "otf",
    "font/ttf": "ttf",
    "font/woff": "woff",
    "font/woff2": "woff2",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/heic": "heic",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tif",
    "image/vnd.microsoft.icon": "ico",
    "image/webp": "webp",
    "image/x-icon": "ico",
    "text/calendar": "ics",
    "text/css": "css",
    "text/csv": "csv",
    "text/html": "html",
    "text/javascript": "js",
    "text/markdown": "md",
    "text/plain": "txt",
    "text/tab-separated-values": "tsv",
    "text/vcard": "vcf",
    "text/xml": "xml",
    "video/mp2t": "ts",
    "video/mp4": "mp4",
    "video/mpeg": "mpg",
    "video/ogg": "ogv",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-matroska": "mkv",
    "video/x-msvideo": "avi",
  ]
}
