"""The names of all feature gates of a control plane, by the first and the last release that has them. Pure.

Source: constants of type featuregate.Feature in pkg/features of k8s.io/kubernetes, apiserver, client-go, controller-manager and
apiextensions-apiserver, and in logs, metrics and zpages of component-base, at the versions of `crashloop.run.kinds.PINNED`.
"""

from itertools import chain

from crashloop.spec.version import KubernetesVersion

FIRST, LAST = (1, 33), (1, 37)

_NAMES = {
    ((1, 33), (1, 33)): """
        DevicePluginCDIDevices ElasticIndexedJob LegacySidecarContainers PodDisruptionConditions
        StatefulSetStartOrdinal
    """,
    ((1, 33), (1, 34)): """
        AllowServiceLBStatusOnNonLB ComponentSLIs CronJobsScheduledAnnotation LoadBalancerIPMode PodIndexLabel
        SizeMemoryBackedVolumes StatefulSetAutoDeletePVC StrictCostEnforcementForVAP
        StrictCostEnforcementForWebhooks UserNamespacesPodSecurityStandards
    """,
    ((1, 33), (1, 35)): """
        CSIMigrationPortworx HonorPVReclaimPolicy InPlacePodVerticalScalingAllocatedStatus
        InTreePluginPortworxUnregister MemoryManager ServiceTrafficDistribution
        StructuredAuthorizationConfiguration TopologyAwareHints WatchFromStorageWithoutResourceVersion
    """,
    ((1, 33), (1, 36)): """
        APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
        AuthorizeWithSelectors BtreeWatchCache ConsistentListFromCache JobBackoffLimitPerIndex
        JobPodReplacementPolicy JobSuccessPolicy LogarithmicScaleDown OrderedNamespaceDeletion
        PodLifecycleSleepAction PodLifecycleSleepActionAllowZero RelaxedDNSSearchValidation
        ResilientWatchCacheInitialization RetryGenerateName SchedulerQueueingHints SidecarContainers
        StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
        StructuredAuthenticationConfiguration
    """,
    ((1, 33), (1, 37)): """
        APIResponseCompression APIServerIdentity APIServingWithRoutine AggregatedDiscoveryRemoveBetaType
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
        AllowOverwriteTerminationGracePeriodSeconds AllowParsingUserUIDFromCertAuth
        AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions
        CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CRDValidationRatcheting CSIVolumeHealth
        ClientsAllowCBOR ClientsPreferCBOR CloudControllerManagerWebhook ClusterTrustBundle
        ClusterTrustBundleProjection ComponentFlagz ComponentStatusz ConcurrentWatchObjectDecode
        ContainerCheckpoint ContainerStopSignals ContextualLogging CoordinatedLeaderElection
        CrossNamespaceVolumeDataSource CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess
        DRADeviceTaints DRAPartitionableDevices DRAPrioritizedList DRAResourceClaimDeviceStatus
        DeclarativeValidation DeclarativeValidationTakeover DeploymentReplicaSetTerminatingReplicas
        DisableAllocatorDualWrite DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion
        DynamicResourceAllocation EventedPLEG ExecProbeTimeout ExternalServiceAccountTokenSigner
        GitRepoVolumeDriver GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance
        HPAScaleToZero ImageMaximumGCAge ImageVolume InOrderInformers InPlacePodVerticalScaling
        InPlacePodVerticalScalingExclusiveCPUs InformerResourceVersion JobManagedBy KMSv1
        KubeletCgroupDriverFromCRI KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
        KubeletFineGrainedAuthz KubeletInUserNamespace KubeletPSI KubeletPodResourcesDynamicResources
        KubeletPodResourcesGet KubeletRegistrationGetOnExistsOnly KubeletSeparateDiskGC
        KubeletServiceAccountTokenForCredentialProviders KubeletTracing ListFromCacheSnapshot
        LocalStorageCapacityIsolationFSQuotaMonitoring LoggingAlphaOptions LoggingBetaOptions
        MatchLabelKeysInPodAffinity MatchLabelKeysInPodTopologySpread
        MaxUnavailableStatefulSet MemoryQoS MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
        MutatingAdmissionPolicy NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery
        NodeSwap OpenAPIEnums PodAndContainerStatsFromCRI PodDeletionCost PodLevelResources
        PodLogsQuerySplitStreams PodObservedGenerationTracking PodReadyToStartContainersCondition
        PodSchedulingReadiness PodTopologyLabelsAdmission PortForwardWebsockets PreferSameTrafficDistribution
        ProcMountType QOSReserved RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
        ReduceDefaultCrashLoopBackOffDecay RelaxedEnvironmentVariableValidation
        ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus
        RotateKubeletServerCertificate RuntimeClassInImageCriApi SELinuxChangePolicy SELinuxMount
        SELinuxMountReadWriteOncePod SchedulerAsyncPreemption SchedulerPopFromBackoffQ SeparateCacheWatchRPC
        SeparateTaintEvictionController ServiceAccountNodeAudienceRestriction ServiceAccountTokenJTI
        ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo
        StorageCapacityScoring StorageNamespaceIndex StorageVersionAPI StorageVersionHash StorageVersionMigrator
        StrictIPCIDRValidation SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyAlphaOptions
        TopologyManagerPolicyBetaOptions TopologyManagerPolicyOptions TranslateStreamCloseWebsocketRequests
        UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UserNamespacesSupport
        VolumeAttributesClass WatchCacheInitializationPostStartHook WatchList WatchListClient WinDSR WinOverlay
        WindowsCPUAndMemoryAffinity WindowsGracefulNodeShutdown WindowsHostNetwork
    """,
    ((1, 34), (1, 34)): """
        ProbeHostPodSecurityStandards
    """,
    ((1, 34), (1, 36)): """
        PreventStaticPodAPIReferences
    """,
    ((1, 34), (1, 37)): """
        ClearingNominatedNodeNameAfterBinding ContainerRestartRules DRAConsumableCapacity
        DRADeviceBindingConditions DRAExtendedResource DRASchedulerFilterTimeout DetectCacheInconsistency
        EnvFiles HostnameOverride InPlacePodVerticalScalingExclusiveMemory KubeletPodResourcesListUseActivePods
        MatchLabelKeysInPodTopologySpreadSelectorMerge NominatedNodeNameForExpectation PodCertificateRequest
        RelaxedServiceNameValidation SchedulerAsyncAPICalls SizeBasedListCostEstimate
        StatefulSetSemanticRevisionComparison StructuredAuthenticationConfigurationEgressSelector
        TokenRequestServiceAccountUIDValidation
    """,
    ((1, 35), (1, 36)): """
        GangScheduling
    """,
    ((1, 35), (1, 37)): """
        AuthorizePodWebsocketUpgradeCreatePermission CRDObservedGenerationTracking CSIServiceAccountTokenSecrets
        ChangeContainerStatusOnKubeletRestart CloudControllerManagerWatchBasedRoutesReconciliation
        ConstrainedImpersonation DRADeviceTaintRules GenericWorkload InOrderInformersBatchProcess
        InPlacePodLevelResourcesVerticalScaling MutablePVNodeAffinity MutablePodResourcesForSuspendedJobs
        MutableSchedulingDirectivesForSuspendedJobs NodeDeclaredFeatures OpportunisticBatching
        RestartAllContainersOnContainerExits StructuredAuthenticationConfigurationJWKSMetrics
        TaintTolerationComparisonOperators UserNamespacesHostNetworkSupport VolumeLimitScaling
    """,
    ((1, 36), (1, 36)): """
        WorkloadAwarePreemption
    """,
    ((1, 36), (1, 37)): """
        AllowServiceExternalIPs AtomicFIFO CRIListStreaming ClientsAllowCARotation ClientsAllowTLSCacheGC
        ControllerManagerReleaseLeaderElectionLockOnExit DRAListTypeAttributes DRANodeAllocatableResources
        DRAResourceClaimGranularStatusAuthorization DRAResourcePoolStatus DRAWorkloadResourceClaims
        DeclarativeValidationBeta ExtendWebSocketsToKubelet ImageVolumeWithDigest
        InPlacePodVerticalScalingInitContainers ManifestBasedAdmissionControlConfig NativeHistograms
        PLEGOnDemandRelist PersistentVolumeClaimUnusedSinceTime PodLevelResourceManagers PodsAPI
        ReloadKubeletClientCAFile ResourceHealthStatusMessage ServiceCIDRStatusFieldWiping ShardedListAndWatch
        StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
        StaleControllerConsistencyStatefulSet TopologyAwareWorkloadScheduling UnlockWhileProcessingFIFO
        WorkloadWithJob
    """,
    ((1, 37), (1, 37)): """
        APIServerWebhookAuthenticationToken AtomicWriteVolumeUserFields CompositePodGroup
        ConsistentListFromCacheSkipTimeoutFallback DRADerivedAttributes DRADeviceCompatibilityGroups
        DRAFractionalCapacityRange DRAOptionalNodeOperations DRAPartitionableDevicesType DefaultPodSysctls
        EmptyDirVolumeMode EtcdRangeStream EvictionRequestAPI ExcludeAdmissionWebhookVirtualResources
        GRPCContainerProbeTLS H2CContainerProbe HPAGeneration HPAOptimizedSelectorStore HugepageAwareEviction
        InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption
        InterPodAffinityHostnameFastPath KubeProxyIPVS KubeProxyNFTablesLocalhostNodePorts
        KubeletAllocatedPodsEndpoint NFTablesNetlink NodeControllerLeaseCircuitBreaker NodeLifecycleConditions
        PodGroupPreemptionPolicy PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass
        SchedulerPreQueueingHints StaleControllerConsistencyHPA StatefulSetRecreateStrategy
        VolumeBindMountOptions WatchListCompression WebhookRoundTripLoadBalancing
    """,
}

GROUPS = ("AllAlpha", "AllBeta")
"""Each sets all gates of a stage."""


def gate_names(version: KubernetesVersion) -> frozenset[str] | None:
    """Every gate of a release; None for a release that is not in the table."""
    if not FIRST <= version.release <= LAST:
        return None
    names = (text.split() for (first, last), text in _NAMES.items() if first <= version.release <= last)
    return frozenset(chain(GROUPS, *names))
