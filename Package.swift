// swift-tools-version: 6.2
import PackageDescription

let language: [SwiftSetting] =
  [
    "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility",
    "NonisolatedNonsendingByDefault", "InferIsolatedConformances",
  ].map { .enableUpcomingFeature($0) } + [.treatAllWarnings(as: .error)]

/// The settings of targets that use no raw memory, which the compiler then checks.
let safe = language + [.strictMemorySafety()]

/// Optimizes a target in debug builds too, with all its assertions. Only for targets whose code the simulator and the random walks run
/// many thousands of times. For other targets, the build becomes longer by more than the tests become shorter.
let optimized =
  language + [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
let optimizedSafe = optimized + [.strictMemorySafety()]

/// The linker options of the released program. Imports are bound and read-only before it runs, nothing is exported, and unused code is
/// omitted. The system's linker would list one library twice.
let hardening =
  ["-use-ld=lld"]
  + [
    "-z", "relro", "-z", "now", "-z", "noexecstack", "-z", "pack-relative-relocs", "--as-needed",
    "--no-export-dynamic", "--gc-sections",
    "--build-id=none",
    "--icf=safe",
  ]
  .flatMap { ["-Xlinker", $0] }

let package = Package(
  name: "ferry",
  products: [
    .executable(name: "ferry", targets: ["ferry"]),
    .library(name: "FerryClient", targets: ["FerryClient"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    // Not imported: swift-crypto needs it, and the pin makes builds reproducible.
    .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
    // Not imported: swift-service-lifecycle needs it.
    .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
    .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
    // No trait: its JSON support needs all of Foundation, and reports neither line numbers nor duplicate names.
    .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
    .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
  ],
  // From the lowest floor to the highest. A target uses only targets before it and imports all targets that it lists. LayerTests compares
  // the list with the sources, and the floors with the picture in ARCHITECTURE.md.
  targets: [
    // 0: values
    .target(name: "Limits", swiftSettings: optimizedSafe),
    .target(name: "JSON", dependencies: ["Limits"], swiftSettings: optimized),
    .target(name: "Addresses", dependencies: ["JSON"], swiftSettings: optimizedSafe),
    .target(name: "HTTPFields", dependencies: ["Limits", "JSON"], swiftSettings: optimizedSafe),
    .target(
      name: "TransferModel", dependencies: ["Limits", "JSON", "Addresses", "HTTPFields"],
      swiftSettings: optimizedSafe),
    .target(
      name: "HTTPDates", dependencies: ["HTTPFields", "TransferModel"], swiftSettings: optimizedSafe),
    .target(
      name: "FerrySettings",
      dependencies: [
        "Limits", "Addresses", "TransferModel", "JSON",
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: language),

    // 1: C modules
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CNetlink"),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(
      name: "CGSSAPI", providers: [.apt(["libkrb5-dev"])]),
    .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
    .systemLibrary(
      name: "CCompression", providers: [.apt(["zlib1g-dev", "libbrotli-dev", "libzstd-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .target(name: "CProcess", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
    .target(
      name: "CHandshake", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])],
      linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    .target(
      name: "CDashboard", exclude: ["Assets"],
      cSettings: [.unsafeFlags(["-std=c23", "-Wall", "-Wextra", "-Werror"])]),
    .target(name: "CICUData", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),

    // 2: wrappers
    .target(
      name: "EventLoop",
      dependencies: [
        "CLinux", "CProcess", .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
      ],
      swiftSettings: optimized),
    .target(
      name: "Processes", dependencies: ["CLinux", "CProcess", "EventLoop", "JSON"],
      swiftSettings: optimized),
    .target(
      name: "Netlink", dependencies: ["Addresses", "EventLoop", "CNetlink"], swiftSettings: language),
    .target(name: "Curl", dependencies: ["CCurl", "CHandshake", "EventLoop"], swiftSettings: language),
    .target(
      name: "HTTPCookies",
      dependencies: ["Limits", "Addresses", "HTTPFields", "TransferModel", "JSON", "CPSL"],
      swiftSettings: optimizedSafe),
    .target(
      name: "KeyDerivation", dependencies: [.product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: optimizedSafe),
    .target(name: "GSSAPI", dependencies: ["CGSSAPI"], swiftSettings: language),
    .target(name: "ContentCoding", dependencies: ["Limits", "CCompression"], swiftSettings: optimized),
    .target(
      name: "HTTPServer",
      dependencies: [
        "Limits", "CMicroHTTPD", "CLinux", "EventLoop",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "DequeModule", package: "swift-collections"),
      ], swiftSettings: language),

    // 3: core, engine, stores
    .target(
      name: "TransferCore",
      dependencies: [
        "HTTPFields", "TransferModel", "HTTPDates",
        .product(name: "HeapModule", package: "swift-collections"),
      ],
      swiftSettings: optimizedSafe),
    .target(
      name: "HTTPCache",
      dependencies: [
        "Limits", "HTTPFields", "TransferModel", "HTTPDates", "JSON", "EventLoop",
        .product(name: "Crypto", package: "swift-crypto"),
      ], swiftSettings: optimized),
    .target(
      name: "BlobStore",
      dependencies: [
        "Limits", "TransferModel", "EventLoop", "CLinux",
        .product(name: "Crypto", package: "swift-crypto"),
      ], swiftSettings: optimized),
    .target(
      name: "Records",
      dependencies: [
        "Limits", "JSON", "Addresses", "HTTPFields", "TransferModel", "HTTPCookies", "ContentCoding",
        "KeyDerivation", "COpenSSL", .product(name: "Crypto", package: "swift-crypto"),
      ], swiftSettings: optimizedSafe),
    .target(
      name: "Ledger", dependencies: ["TransferModel", "HTTPCookies", "Records"],
      swiftSettings: optimizedSafe),
    .target(
      name: "SQLiteLedger",
      dependencies: [
        "TransferModel", "HTTPCookies", "JSON", "Records", "Ledger", "EventLoop", "Processes",
        "KeyDerivation",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ], swiftSettings: optimized),
    .target(
      name: "MemoryLedger",
      dependencies: ["HTTPFields", "TransferModel", "HTTPCookies", "JSON", "Records", "Ledger"],
      swiftSettings: optimizedSafe),
    .target(
      name: "EngineAPI",
      dependencies: [
        "Limits", "TransferModel", "BlobStore", "HTTPCache", "HTTPCookies", "EventLoop", "Curl",
        .product(name: "DequeModule", package: "swift-collections"),
      ], swiftSettings: language),
    .target(
      name: "TransferEngine",
      dependencies: [
        "EngineAPI",
        "Limits", "Addresses", "HTTPFields", "TransferModel", "BlobStore", "HTTPCache", "HTTPCookies",
        "Netlink", "Curl",
        "EventLoop",
        "CLinux",
        "GSSAPI", "ContentCoding",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
      ], swiftSettings: language),

    // 4: shells
    .target(
      name: "Cluster",
      dependencies: [
        "Limits", "JSON", "TransferModel", "Ledger", "EventLoop", "Processes", "Curl", "HTTPServer",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: optimized),
    .target(
      name: "TransferService",
      dependencies: [
        "Limits", "Addresses", "HTTPFields", "Cluster", "TransferModel", "TransferCore", "HTTPCache",
        "HTTPCookies", "Records", "Ledger", "KeyDerivation",
        "BlobStore", "EngineAPI", "EventLoop", "Processes", "JSON",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: optimizedSafe),

    .target(
      name: "FerryClient",
      dependencies: [
        "Limits", "HTTPFields", "JSON", "EventLoop", "Curl",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: language),

    // 5: protocol edges
    .target(
      name: "Webhooks",
      dependencies: [
        "Limits", "Addresses", "HTTPFields", "TransferCore", "TransferModel", "HTTPDates", "Ledger",
        "TransferService",
        "TransferEngine", "Curl", "EventLoop", .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: language),
    .target(
      name: "Dashboard",
      dependencies: ["CDashboard", .product(name: "Crypto", package: "swift-crypto")],
      exclude: ["ASSETS.md"], swiftSettings: language),
    .target(
      name: "TransferAPI",
      dependencies: [
        "Dashboard", "Limits", "HTTPFields", "TransferModel", "TransferCore", "TransferService", "HTTPCache",
        "HTTPCookies",
        "ContentCoding",
        "EventLoop", "HTTPServer", "Cluster", "JSON",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
      ],
      resources: [.embedInCode("openapi.yaml")],
      swiftSettings: safe),

    // 6: composition
    .target(
      name: "Commands",
      dependencies: [
        "HTTPFields", "JSON", "TransferModel", "FerrySettings", "EventLoop", "Processes", "FerryClient",
        "Limits",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Crypto", package: "swift-crypto"),
      ], swiftSettings: language),
    .executableTarget(
      name: "ferry",
      dependencies: [
        "Addresses", "BlobStore", "CICUData", "Commands", "EngineAPI", "EventLoop", "FerrySettings",
        "HTTPFields",
        "HTTPServer",
        "JSON",
        "Ledger", "Cluster",
        "MemoryLedger", "Processes", "Records", "SQLiteLedger", "TransferAPI", "TransferEngine",
        "TransferModel",
        "TransferService", "Webhooks",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ], swiftSettings: safe,
      linkerSettings: [.unsafeFlags(hardening, .when(configuration: .release))]),
  ],
  swiftLanguageModes: [.v6]
)

// The tests mirror the targets and share TestSupport.
let tests: [(name: String, uses: [Target.Dependency])] = [
  ("JSON", ["Limits", "TestSupport"]),
  ("Addresses", ["TestSupport"]),
  ("HTTPFields", ["JSON"]),
  ("TransferModel", ["HTTPFields", "JSON", "TestSupport"]),
  ("HTTPDates", ["TransferModel", "TestSupport"]),
  ("LifeCycle", ["TransferModel", "TestSupport"]),
  (
    "Simulation",
    [
      "HTTPFields", "JSON", "TransferModel", "TransferCore", "MachineFaults", "Ledger", "MemoryLedger",
      "SimulatedStores", "BlobStore", "HTTPCache", "EngineAPI", "Cluster", "TransferService", "Processes",
      "EventLoop", "TestSupport",
    ]
  ),
  (
    "FerrySettings",
    ["Addresses", "TransferModel", "JSON", "TestSupport", .product(name: "Logging", package: "swift-log")]
  ),
  ("HTTPCookies", ["TransferModel", "JSON", "TestSupport"]),
  (
    "HTTPCache",
    [
      "Limits", "HTTPFields", "TransferModel", "HTTPDates", "JSON", "EventLoop", "TestSupport",
      .product(name: "Crypto", package: "swift-crypto"),
    ]
  ),
  ("Netlink", ["Addresses", "EventLoop", "TestSupport"]),
  ("EventLoop", ["TestSupport"]),
  ("Processes", ["TransferModel", "BlobStore", "EventLoop", "TestSupport"]),
  ("ContentCoding", []),
  ("Curl", ["EventLoop", "TestSupport"]),
  ("HTTPServer", ["EventLoop", "TestSupport", .product(name: "HTTPTypes", package: "swift-http-types")]),
  (
    "Cluster",
    [
      "TransferModel", "TransferCore", "Ledger", "EventLoop", "HTTPServer", "TestSupport",
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ]
  ),
  (
    "BlobStore",
    [
      "TransferModel", "SimulatedStores", "EventLoop", "TestSupport",
      .product(name: "Crypto", package: "swift-crypto"),
    ]
  ),
  (
    "Records",
    [
      "Addresses", "HTTPFields", "TransferModel", "HTTPCookies", "JSON",
      .product(name: "Crypto", package: "swift-crypto"),
    ]
  ),
  ("Dashboard", [.product(name: "Crypto", package: "swift-crypto")]),
  ("Ledger", ["TestSupport"]),
  (
    "MemoryLedger",
    [
      "TransferModel", "HTTPCookies", "Records", "Ledger", "SQLiteLedger", "SimulatedStores",
      "LedgerConformance",
      "TestSupport",
      .product(name: "Crypto", package: "swift-crypto"),
    ]
  ),
  (
    "SQLiteLedger",
    [
      "HTTPFields", "TransferModel", "HTTPCookies", "Records", "Ledger", "LedgerConformance", "KeyDerivation",
      "Processes", "JSON",
      "TestSupport",
      .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
      .product(name: "Crypto", package: "swift-crypto"),
    ]
  ),
  ("TransferCore", ["HTTPFields", "TransferModel", "LifeCycle", "MachineFaults", "TestSupport"]),
  (
    "EngineAPI", ["Limits", "HTTPFields", "TransferModel", "BlobStore", "Curl", "HTTPCookies", "TestSupport"]
  ),
  (
    "TransferEngine",
    [
      "EngineAPI", "Limits", "Addresses", "HTTPFields", "TransferModel", "BlobStore", "HTTPCache",
      "ContentCoding",
      "Curl", "CLinux",
      "EventLoop", "SimulatedStores", "TestSupport",
    ]
  ),
  (
    "TransferService",
    [
      "Limits", "Addresses", "HTTPFields", "TransferModel", "TransferCore", "Records", "Ledger", "Cluster",
      "SQLiteLedger",
      "MemoryLedger",
      "SimulatedStores", "BlobStore", "EngineAPI", "TransferEngine",
      "HTTPCookies", "EventLoop", "Processes", "JSON", "TestSupport",
      .product(name: "Crypto", package: "swift-crypto"), .product(name: "Logging", package: "swift-log"),
    ]
  ),
  (
    "FerryClient",
    [
      "EventLoop", "HTTPServer", "JSON", "TestSupport",
      .product(name: "Crypto", package: "swift-crypto"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ]
  ),
  ("Commands", ["FerryClient", "JSON", "Limits", "TestSupport"]),
  (
    "Webhooks",
    [
      "Addresses", "Limits", "TransferModel", "HTTPDates", "Curl", "TestSupport",
      .product(name: "Crypto", package: "swift-crypto"),
    ]
  ),
  (
    "TransferAPI",
    [
      "Limits", "Addresses", "HTTPFields", "TransferModel", "TransferCore", "TransferService", "Records",
      "Ledger",
      "MemoryLedger",
      "SQLiteLedger",
      "BlobStore", "EngineAPI", "TransferEngine", "HTTPServer", "ContentCoding", "EventLoop", "JSON",
      "TestSupport",
      .product(name: "Crypto", package: "swift-crypto"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"), .product(name: "Yams", package: "Yams"),
    ]
  ),
]
package.targets += [
  // The permitted life cycles of tasks and sessions. Not part of the program.
  .target(
    name: "LifeCycle", dependencies: ["TransferModel", "JSON"], path: "Tests/LifeCycle",
    swiftSettings: optimizedSafe),
  // The conformance suite that the tests of each ledger run. Not part of the program.
  .target(
    name: "LedgerConformance",
    dependencies: ["HTTPCookies", "HTTPFields", "Ledger", "MemoryLedger", "Records", "TransferModel"],
    path: "Tests/LedgerConformance", swiftSettings: language),
  // Simulated ledgers and blob stores, with faults. Not part of the program.
  .target(
    name: "SimulatedStores",
    dependencies: [
      "TransferModel", "TransferCore", "Ledger", "MemoryLedger", "BlobStore", "EventLoop",
      .product(name: "Crypto", package: "swift-crypto"),
      .product(name: "DequeModule", package: "swift-collections"),
    ], path: "Tests/SimulatedStores", swiftSettings: optimizedSafe),
  // Deliberate faults of the machines, which tests must find. Not part of the program.
  .target(
    name: "MachineFaults", dependencies: ["TransferCore", "TransferModel"], path: "Tests/MachineFaults",
    swiftSettings: optimized),
  // Simulations of services and workers in one thread, each determined by a seed. Not part of the program.
  .target(
    name: "Simulation",
    dependencies: [
      "HTTPFields", "TransferModel", "TransferCore", "Records", "Ledger", "MemoryLedger", "SimulatedStores",
      "BlobStore", "EngineAPI", "Cluster", "TransferService", "HTTPCache", "HTTPServer", "LifeCycle",
      "EventLoop", "JSON", "Webhooks",
      .product(name: "Crypto", package: "swift-crypto"),
      .product(name: "DequeModule", package: "swift-collections"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
    ], path: "Tests/Simulation", swiftSettings: optimized),
  .executableTarget(
    name: "simulate", dependencies: ["Simulation", "MachineFaults", "EventLoop", "TransferCore"],
    path: "Tests/simulate",
    swiftSettings: language),
  // A program that runs each parser of external text over files or under libFuzzer. Not part of the program.
  .executableTarget(
    name: "probe",
    dependencies: [
      "Limits", "JSON", "HTTPFields", "TransferModel", "HTTPDates", "HTTPCookies", "HTTPCache",
      "TransferEngine", "TransferAPI",
    ], path: "Tests/probe", swiftSettings: language),
  .target(
    name: "TestSupport",
    dependencies: [
      "EventLoop", "JSON", "Ledger", "LifeCycle", "Processes", "Records", "SQLiteLedger", "TransferModel",
      .product(name: "Crypto", package: "swift-crypto"), .product(name: "GRDB", package: "GRDB.swift"),
    ], path: "Tests/TestSupport", swiftSettings: language),
  .testTarget(
    name: "EndToEndTests",
    dependencies: [
      "ferry", "FerryClient", "FerrySettings", "EventLoop", "Processes", "TestSupport", "JSON",
      .product(name: "Crypto", package: "swift-crypto"),
    ],
    swiftSettings: language),
  .testTarget(name: "TestSupportTests", dependencies: ["TestSupport"], swiftSettings: language),
  .testTarget(
    name: "TidyTests",
    dependencies: [
      "BlobStore", "Dashboard", "EventLoop", "FerrySettings", "HTTPServer", "Limits", "TransferAPI",
      "TransferEngine",
      "Addresses", "TransferModel", .product(name: "Yams", package: "Yams"),
    ],
    swiftSettings: language),
]
/// The targets whose own test code takes a large part of the time.
let busy: Set = ["HTTPCache", "HTTPCookies", "Simulation", "TransferService"]
package.targets += tests.map { name, uses in
  .testTarget(
    name: name + "Tests", dependencies: [.byName(name: name)] + uses,
    swiftSettings: busy.contains(name) ? optimized : language)
}
