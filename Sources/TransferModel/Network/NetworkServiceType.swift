/// The purpose of a task's traffic (URLRequest.NetworkServiceType), which determines how sent packets are marked.
package enum NetworkServiceType: String, Sendable, CaseIterable {
  case `default`, video, background, voice, responsiveData, avStreaming, responsiveAV, callSignaling

  /// The differentiated services code point of the type (RFC 2474), by its service class in RFC 4594 §2.3. Apple's systems use the same
  /// marks on networks that follow that document.
  package var codePoint: UInt8 {
    switch self {
    case .default: 0  // DF: standard
    case .video: 34  // AF41: multimedia conferencing
    case .background: 8  // CS1: low-priority data
    case .voice: 46  // EF: telephony
    case .responsiveData: 18  // AF21: low-latency data
    case .avStreaming: 26  // AF31: multimedia streaming
    case .responsiveAV: 32  // CS4: real-time interactive
    case .callSignaling: 40  // CS5: signaling
    }
  }
}
