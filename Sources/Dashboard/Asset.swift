internal import CDashboard
internal import Crypto

/// A file that the service serves to browsers: a module, a style sheet or a picture of the dashboard or of the API reference.
package struct Asset: Sendable {
  /// The path below the folder Assets.
  package let name: String
  package let bytes: [UInt8]

  /// The media type, by the extension of the name.
  package var type: String {
    switch name.split(separator: ".").last {
    case "js"?: "text/javascript; charset=utf-8"
    case "css"?: "text/css; charset=utf-8"
    case "svg"?: "image/svg+xml"
    case "html"?: "text/html; charset=utf-8"
    case "json"?: "application/json"
    default: "application/octet-stream"
    }
  }
}

/// All assets of this build.
package enum Assets {
  /// The files by their names. Pages are templates and are not served as they are.
  package static let all: [String: Asset] = {
    var all: [String: Asset] = [:]
    for index in 0..<cdashboard_count {
      let file = cdashboard_file(index).pointee
      let name = String(cString: file.name)
      all[name] = Asset(
        name: name, bytes: Array(UnsafeBufferPointer(start: file.bytes, count: Int(file.size))))
    }
    return all
  }()

  /// The beginning of a digest of all files. It is part of the address of each file, so browsers may keep a file for ever.
  package static let version: String = {
    var hash = SHA256()
    for (name, asset) in all.sorted(by: { $0.key < $1.key }) {
      hash.update(data: Array(name.utf8) + [0])
      hash.update(data: asset.bytes)
    }
    return hash.finalize().prefix(8).map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }()

  /// Returns a file that browsers may load by its address, or `nil` if there is none.
  package static func served(_ name: String) -> Asset? {
    guard let asset = all[name], !name.hasSuffix(".html"), !name.hasSuffix(".json") else { return nil }
    return asset
  }

  /// The contract in JSON, with the content of `openapi.yaml`.
  package static var contract: Asset { all["openapi.json"] ?? Asset(name: "openapi.json", bytes: []) }
}
