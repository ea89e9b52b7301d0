import Foundation
import Testing

/// The house as ARCHITECTURE.md draws it: arrows only go down, and C stays in its wrapper.
@Suite struct LayerTests {
  /// What each target may import of ours.
  private static let layers: [String: Set<String>] = [
    "JSON": [],
    "TransferModel": ["JSON"],
    "FerrySettings": ["TransferModel", "JSON"],
    "EventLoop": ["CLinux", "CProcess"],
    "Curl": ["CCurl", "CHandshake", "EventLoop"],
    "GSSAPI": ["CGSSAPI"],
    "ContentCoding": ["CCompression"],
    "HTTPServer": ["CMicroHTTPD", "CLinux", "EventLoop"],
    "HTTPCookies": ["TransferModel", "JSON", "CPSL"],
    "HTTPCache": ["TransferModel", "JSON", "EventLoop"],
    "Netlink": ["TransferModel", "EventLoop", "CNetlink"],
    "TransferStore": ["TransferModel", "HTTPCookies", "JSON", "EventLoop", "COpenSSL"],
    "MemoryStore": ["TransferModel", "TransferCore", "HTTPCookies", "JSON", "TransferStore"],
    "TransferEngine": [
      "TransferModel", "HTTPCache", "HTTPCookies", "Netlink", "Curl", "EventLoop", "CLinux", "GSSAPI",
      "ContentCoding", "JSON",
    ],
    "TransferCore": ["TransferModel"],
    "TransferService": [
      "TransferModel", "TransferCore", "HTTPCache", "HTTPCookies", "TransferStore", "TransferEngine",
      "EventLoop", "JSON",
    ],
    "Webhooks": ["TransferModel", "TransferService", "TransferEngine", "Curl", "EventLoop", "JSON"],
    "TransferAPI": [
      "TransferModel", "TransferCore", "HTTPCache", "HTTPCookies", "TransferService", "ContentCoding",
      "HTTPServer", "JSON",
    ],
    "ferry": [
      "EventLoop", "FerrySettings", "HTTPServer", "JSON", "TransferAPI", "TransferEngine", "TransferModel",
      "TransferService", "TransferStore", "Webhooks",
    ],
  ]
  /// Packages and system modules that only these targets may import.
  private static let wrappers: [String: Set<String>] = [
    "CCurl": ["Curl"], "CHandshake": ["Curl"], "CGSSAPI": ["GSSAPI"], "CMicroHTTPD": ["HTTPServer"],
    "CPSL": ["HTTPCookies"], "CCompression": ["ContentCoding"], "CNetlink": ["Netlink"],
    "COpenSSL": ["TransferStore"],
    "CLinux": ["EventLoop", "HTTPServer", "TransferEngine"], "CProcess": ["EventLoop"],
    "GRDB": ["TransferStore"], "GRDBSQLite": ["TransferStore"], "HTTPTypes": ["HTTPServer", "TransferAPI"],
    "Configuration": ["FerrySettings"], "SystemPackage": ["FerrySettings"],
    "ArgumentParser": ["ferry"], "ServiceLifecycle": ["ferry"], "UnixSignals": ["ferry"],
  ]

  @Test func importsFollowTheTable() throws {
    for (target, files) in try Tree.swiftFiles(under: "Sources") {
      let allowed = try #require(Self.layers[target], "target \(target) is not in the table")
      for file in files {
        for module in file.imports
        where Self.layers[module] != nil
          || module.hasPrefix("C") && !["Crypto", "Configuration"].contains(module)
        {
          #expect(allowed.contains(module), "\(file.path) must not import \(module)")
        }
      }
    }
  }

  @Test func outsideThingsStayInTheirWrappers() throws {
    for (target, files) in try Tree.swiftFiles(under: "Sources") {
      for file in files {
        for module in file.imports {
          guard let allowed = Self.wrappers[module] else { continue }
          #expect(allowed.contains(target), "\(file.path) must not import \(module)")
        }
        #expect(!file.imports.contains("FoundationNetworking"), "\(file.path)")
        #expect(!file.imports.contains("Foundation"), "\(file.path): FoundationEssentials is enough")
      }
    }
  }

  /// What tests and a simulator hold the program to is no part of it, and knows no more of it than its values.
  @Test func theLifeCycleIsBesideTheProgram() throws {
    let files = try #require(try Tree.swiftFiles(under: "Tests")["LifeCycle"])
    for file in files {
      #expect(Set(file.imports).isSubset(of: ["TransferModel", "JSON"]), "\(file.path): \(file.imports)")
    }
    for file in try Tree.swiftFiles(under: "Sources").values.flatMap({ $0 }) {
      #expect(!file.imports.contains("LifeCycle"), "\(file.path)")
    }
  }

  /// Wrappers of C include the system's headers, and Swift takes what these declare for the module that it has read first: in which
  /// order files are compiled decides. Whoever uses the C library finds its names in all of them.
  @Test func whoImportsTheLibraryOfCImportsTheWrappersThatIncludeIt() throws {
    for (target, files) in try Tree.swiftFiles(under: "Sources") {
      // CProcess includes none.
      let wrappers = Self.wrappers.filter {
        $0.value.contains(target) && $0.key.hasPrefix("C") && $0.key != "CProcess"
      }
      for file in files where file.imports.contains("Glibc") {
        for wrapper in wrappers.keys {
          #expect(file.imports.contains(wrapper), "\(file.path) must import \(wrapper) beside Glibc")
        }
      }
    }
  }

  @Test func theTableHasNoTargetThatIsGone() throws {
    #expect(Set(try Tree.swiftFiles(under: "Sources").keys) == Set(Self.layers.keys))
  }
}

/// The checkout, as text.
enum Tree {
  struct File {
    let path: String
    let text: String
    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    var imports: [String] {
      lines.compactMap { line in
        let words = line.split(separator: " ")
        guard !line.hasPrefix(" "), let index = words.firstIndex(of: "import"), index < 2 else { return nil }
        return words.dropFirst(index + 1).first.map(String.init)
      }
    }
  }

  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// All files of a folder, by their paths.
  static func files(under folder: String) throws -> [String] {
    let base = root.appendingPathComponent(folder)
    return try FileManager.default.subpathsOfDirectory(atPath: base.path).map { "\(folder)/\($0)" }
      .filter { path in
        var isDirectory: ObjCBool = false
        let path = root.appendingPathComponent(path).path
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
          && !isDirectory.boolValue
      }
  }

  /// Swift files by target.
  static func swiftFiles(under folder: String) throws -> [String: [File]] {
    var files: [String: [File]] = [:]
    let base = root.appendingPathComponent(folder)
    for target in try FileManager.default.contentsOfDirectory(atPath: base.path) {
      for name in try FileManager.default.subpathsOfDirectory(
        atPath: base.appendingPathComponent(target).path)
      where name.hasSuffix(".swift") {
        let path = "\(folder)/\(target)/\(name)"
        files[target, default: []].append(File(path: path, text: try text(path)))
      }
    }
    return files
  }
}
